"""The promises of a DataStore backend, as a test class to inherit from."""

from __future__ import annotations

from thalweg.testing.datastore.accounts import AccountPromises
from thalweg.testing.datastore.concurrency import ConcurrencyPromises
from thalweg.testing.datastore.keys import KeyPromises
from thalweg.testing.datastore.loss import LossPromises
from thalweg.testing.datastore.refusals import RefusalPromises
from thalweg.testing.datastore.values import ValuePromises
from thalweg.testing.datastore.waiting import WaitingPromises

__all__ = ["DataStoreTests"]


class DataStoreTests(
    ValuePromises,
    KeyPromises,
    WaitingPromises,
    ConcurrencyPromises,
    RefusalPromises,
    LossPromises,
    AccountPromises,
):
    """Inherit, and give a fixture `server_info` that starts a server of the backend and yields its info.

    Optionally override `stop_server` (a fixture that yields a callable which stops that server), to have the promise
    about a server that
    is gone tested too, and `damage` for backends whose capabilities say ``stores_bytes_at_rest`` but which do not
    store files.

    Examples
    --------
    ::

        class TestMine(DataStoreTests):
            @pytest.fixture
            def server_info(self):
                with ServerManager("conformance", {"type": "mine"}) as server:
                    yield server.get_server_info()
    """
