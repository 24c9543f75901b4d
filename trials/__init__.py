"""What verifies, beside tests and simulation: mutations of the product, damaged journals and bad frames."""
