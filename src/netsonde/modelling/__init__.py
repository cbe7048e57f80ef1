"""Platforms from measurements that are made for them, and predictions held against others."""
