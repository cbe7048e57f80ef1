"""What every test starts from."""

import signal

# A shell in the background starts its children with SIGINT ignored, and they theirs. With a
# handler here, what the tests start has the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)
