"""`python -m keywright`, which is also what `accelerate launch -m keywright` runs."""

from keywright.cli import main

main()
