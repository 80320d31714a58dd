"""Building blocks of neural models: layers and the generator protocol. No papers here."""
