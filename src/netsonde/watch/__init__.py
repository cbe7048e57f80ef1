"""Small studies repeated at intervals, whose figures go to a history and to Prometheus."""
