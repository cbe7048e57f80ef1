"""Platforms as files, and what ``netsonde model`` says of them."""
