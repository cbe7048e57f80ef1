"""The rows of options, by who has them."""
