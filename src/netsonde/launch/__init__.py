"""How a worker gets started on a host, and sessions between the ends of a measurement.

A launcher knows neither transports nor tests: it carries requests and records.
"""
