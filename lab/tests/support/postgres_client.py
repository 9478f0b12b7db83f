"""A small client of PostgreSQL, as no machine of the tests must have psql: a login by SCRAM-SHA-256, and a query."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
from collections.abc import Iterator
from typing import BinaryIO

from vtlab.services.companions.database import NAME, Access

#: Codes of the message R: the login is over; it asks for a mechanism; it asks for the proof.
_OVER, _MECHANISM, _PROOF = 0, 10, 11


class Refused(Exception):
    """The words of an error of the server."""


def query(access: Access, statement: str, database: str = NAME) -> list[str]:
    """The rows of an answer, with tabs between values. Refused where the server refuses the login or the statement."""
    with socket.create_connection(access.address, timeout=60) as connection, connection.makefile("rwb") as stream:
        names = f"user\0{access.user}\0database\0{database}\0\0".encode()
        stream.write((8 + len(names)).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + names)
        _log_in(stream, access.password)
        _send(stream, b"Q", statement.encode() + b"\0")
        return ["\t".join(_values(body)) for kind, body in _answers(stream) if kind == b"D"]


def _log_in(stream: BinaryIO, password: str) -> None:
    first = f"n=,r={secrets.token_urlsafe(18)}"
    stream.flush()
    for kind, body in _answers(stream):
        code = int.from_bytes(body[:4], "big") if kind == b"R" else _OVER
        if code == _MECHANISM:
            initial = f"n,,{first}".encode()
            _send(stream, b"p", b"SCRAM-SHA-256\0" + len(initial).to_bytes(4, "big") + initial)
        elif code == _PROOF:
            _send(stream, b"p", _proof(first, body[4:].decode(), password).encode())


def _proof(first: str, challenge: str, password: str) -> str:
    nonce, salt, rounds = (part.partition("=")[2] for part in challenge.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(rounds))
    key = hmac.digest(salted, b"Client Key", "sha256")
    final = f"c=biws,r={nonce}"
    signed = f"{first},{challenge},{final}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = bytes(one ^ two for one, two in zip(key, signature, strict=True))
    return f"{final},p={base64.b64encode(proof).decode()}"


def _send(stream: BinaryIO, kind: bytes, body: bytes) -> None:
    stream.write(kind + (4 + len(body)).to_bytes(4, "big") + body)
    stream.flush()


def _answers(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yields messages until the server is ready for a query."""
    while (kind := stream.read(1)) != b"Z":
        body = stream.read(int.from_bytes(stream.read(4), "big") - 4)
        if kind == b"E":
            fields = {field[:1]: field[1:].decode() for field in body.split(b"\0") if field}
            raise Refused(fields[b"M"])
        assert kind, "the server hung up"
        yield kind, body
    # Its length, and the state of the transaction.
    stream.read(5)


def _values(body: bytes) -> Iterator[str]:
    """Yields the values of a row."""
    offset = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[offset : offset + 4], "big", signed=True)
        offset += 4
        yield body[offset : offset + max(length, 0)].decode()
        offset += max(length, 0)
