"""A report about one or more systems: findings as values, then words, tables, figures and a page.

`findings` computes, `summary` puts it into words, `tables` and `figures` lay it out, and `html`,
`markdown` and `latex` write it. Everything works with the base installation.
"""
