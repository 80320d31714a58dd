// Blocks that scroll sideways can be reached with the keyboard.
addEventListener("load", () => {
  for (const block of document.querySelectorAll("pre > code, .md-typeset__scrollwrap"))
    block.tabIndex = 0;
});
