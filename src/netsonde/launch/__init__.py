"""How a worker gets started on a host, and sessions between the ends of a measurement.

A launcher knows neither transports nor tests: it carries requests and records.
"""

from netsonde.launch.host import Channel, ChildProcess, Host
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import PairSession, open_pair
from netsonde.launch.session import Session
from netsonde.launch.worker import Worker, WorkerError, start_worker

__all__ = [
    "Channel",
    "ChildProcess",
    "Host",
    "LocalHost",
    "PairSession",
    "Session",
    "Worker",
    "WorkerError",
    "open_pair",
    "start_worker",
]
