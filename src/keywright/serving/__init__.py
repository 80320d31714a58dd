"""`keywright serve`: an HTTP service over `Keywright`, and a page. See docs/serving.md."""
