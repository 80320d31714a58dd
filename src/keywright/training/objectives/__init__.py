"""What is minimised: one file per objective, each with `Config` and `build`."""
