"""`python -m keywright`, which is also what `torchrun -m -- keywright` runs."""

from keywright.cli import main

main()
