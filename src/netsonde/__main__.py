"""``python -m netsonde``."""

from netsonde.cli.main import main

if __name__ == "__main__":
    main()
