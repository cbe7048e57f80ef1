"""``ethtool -k`` and ``-K`` of segmentation offloads, where no ethtool is installed: ``python -m
netsonde.lab.ethtool -K DEVICE tso on gro off``. In the words of the real one."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from netsonde.lab.offload import feature_states, set_features

FEATURES = {
    "tso": ("tcp-segmentation-offload", ("tx-tcp-segmentation", "tx-tcp6-segmentation")),
    "gso": ("generic-segmentation-offload", ("tx-generic-segmentation",)),
    "gro": ("generic-receive-offload", ("rx-gro",)),
}
"""By short name: the long one, and the features behind it; the first of them decides."""


def main(arguments: Sequence[str]) -> int:
    try:
        if len(arguments) == 2 and arguments[0] == "-k":
            print("\n".join(_shown(arguments[1])))
            return 0
        if len(arguments) >= 4 and arguments[0] == "-K" and len(arguments) % 2 == 0:
            words = dict(zip(arguments[2::2], arguments[3::2], strict=True))
            if words.keys() <= FEATURES.keys() and set(words.values()) <= {"on", "off"}:
                set_features(
                    arguments[1],
                    {name: words[short] == "on" for short in words for name in FEATURES[short][1]},
                )
                return 0
    except OSError as error:
        print(f"netsonde.lab.ethtool: {arguments[1]}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"expected -k DEVICE or -K DEVICE {'|'.join(FEATURES)} on|off ...", file=sys.stderr)
    return 2


def _shown(device: str) -> list[str]:
    states = feature_states(device)
    lines = [f"Features for {device}:"]
    for long, names in FEATURES.values():
        if (state := states.get(names[0])) is not None:
            fixed = "" if state.can_change else " [fixed]"
            lines.append(f"{long}: {'on' if state.is_on else 'off'}{fixed}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
