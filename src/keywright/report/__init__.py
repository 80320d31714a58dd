"""A report on one system or several: findings as values, then words, tables, figures and a page.

`findings` computes, `summary` says it in words, `tables` and `figures` lay it out, and `html`,
`markdown` and `latex` write it. Everything works with the base install.
"""
