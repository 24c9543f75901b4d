"""What screens and exports say: sentences, the rules in short, and signs."""
