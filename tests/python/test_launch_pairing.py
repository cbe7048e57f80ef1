"""Pairing codes: what is typed is what was printed, or it is told apart from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.launch.pairing import FINGERPRINT_BYTES, SECRET_BYTES, PairingCode

CODES = st.builds(
    PairingCode,
    st.binary(min_size=FINGERPRINT_BYTES, max_size=FINGERPRINT_BYTES),
    st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES),
)
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@given(CODES)
def test_round_trip(code):
    text = code.text()
    assert len(text) == 57
    assert PairingCode.parse(text) == code
    assert PairingCode.parse(text.upper().replace("-", " ")) == code
    assert (
        PairingCode.parse(
            text.replace("0", "O").replace("1", "l")[:3].replace("l", "1")
            + text[3:].replace("0", "O").replace("1", "I")
        )
        == code
    )


@given(CODES, st.integers(0, 44), st.sampled_from(ALPHABET))
def test_every_wrong_character_is_found(code, position, replacement):
    characters = list(code.text().replace("-", "")[3:])
    if characters[position] == replacement:
        return
    characters[position] = replacement
    with pytest.raises(UsageError, match="typing error"):
        PairingCode.parse("ns1" + "".join(characters))


@given(CODES, st.integers(0, 43))
def test_every_exchange_of_neighbours_is_found(code, position):
    characters = list(code.text().replace("-", "")[3:])
    if characters[position] == characters[position + 1]:
        return
    characters[position : position + 2] = reversed(characters[position : position + 2])
    with pytest.raises(UsageError, match="typing error"):
        PairingCode.parse("ns1" + "".join(characters))


@given(st.text(max_size=80))
def test_anything_else_is_a_sentence(text):
    with pytest.raises(UsageError, match="the pairing code"):
        PairingCode.parse(text)
    with pytest.raises(UsageError, match="the pairing code"):
        PairingCode.parse("ns1-" + text)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda t: t[4:], "does not begin with ns1-"),
        (lambda t: t[:-1], "has 44 characters"),
        (lambda t: t[:-1] + "u", "'u' in group 9"),
    ],
)
def test_sentences(damage, sentence):
    text = PairingCode.make(b"certificate").text()
    with pytest.raises(UsageError) as caught:
        PairingCode.parse(damage(text))
    assert sentence in str(caught.value)


def test_the_secret_stays_out_of_sight():
    code = PairingCode.make(b"certificate")
    assert code.secret.hex() not in repr(code)
    assert repr(code.secret) not in repr(code)


def test_a_proof_is_good_for_one_connection_with_one_certificate():
    code = PairingCode.make(b"certificate")
    proof = code.proof(b"certificate", b"s" * 16, b"c" * 16)
    assert proof == code.proof(b"certificate", b"s" * 16, b"c" * 16)
    assert proof != code.proof(b"certificatf", b"s" * 16, b"c" * 16)
    assert proof != code.proof(b"certificate", b"t" * 16, b"c" * 16)
    assert proof != code.proof(b"certificate", b"s" * 16, b"d" * 16)
    assert proof != PairingCode(code.fingerprint, b"0" * 10).proof(
        b"certificate", b"s" * 16, b"c" * 16
    )
