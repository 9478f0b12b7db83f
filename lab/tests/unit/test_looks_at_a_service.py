"""Looks at a service that starts: they cost little CPU."""

from __future__ import annotations

from vtlab.host import server


def test_no_certificates_are_read() -> None:
    """Seen: vtlab took more than half of a core while JVMs started, to read those of all authorities 20 times a
    second."""
    assert server.any_certificate().cert_store_stats() == {"x509": 0, "crl": 0, "x509_ca": 0}
