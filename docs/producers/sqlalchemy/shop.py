"""Orders and their events with SQLAlchemy 2.

PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
sql/outbox.sql and docs/producers/schema.sql.
"""

import io
import json
import pathlib
import struct
import uuid

import fastavro
from sqlalchemy import create_engine, types
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

_SCHEMA = fastavro.parse_schema(json.loads(
    pathlib.Path(__file__).parents[1].joinpath("order_placed.avsc").read_text()))
_SCHEMA_ID = 7  # as the registry answered when the schema was registered


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    cents: Mapped[int]
    state: Mapped[str] = mapped_column(default="placed")


# begin: entity
class Event(Base):
    __tablename__ = "outbox"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    aggregate_type: Mapped[str]
    aggregate_id: Mapped[str | None]
    type: Mapped[str | None]
    payload: Mapped[dict | None] = mapped_column(types.JSON(none_as_null=True))
    headers: Mapped[dict | None] = mapped_column(JSONB(none_as_null=True))
# end: entity


class AvroEvent(Base):
    __tablename__ = "outbox_avro"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    aggregate_type: Mapped[str]
    aggregate_id: Mapped[str | None]
    payload: Mapped[bytes | None]


# begin: place
def place(engine, customer, cents, trace):
    with Session(engine) as session, session.begin():
        order = Order(customer=customer, cents=cents)
        session.add(order)
        session.flush()  # gives order.id
        placed = {"event": "OrderPlaced", "orderId": order.id,
                  "customer": customer, "cents": cents}
        session.add(Event(
            aggregate_type="order", aggregate_id=str(order.id),
            type="OrderPlaced", payload=placed,
            headers={"traceparent": trace}))
        session.add(AvroEvent(aggregate_type="order",
                              aggregate_id=str(order.id),
                              payload=framed(placed)))
        return order.id
# end: place


def framed(record):
    """As a registry's serializer writes it: 0, the schema's id, the body."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _SCHEMA, record)
    return struct.pack(">bI", 0, _SCHEMA_ID) + body.getvalue()


def complete(engine, order_id):
    """Two events of one key: inserted, and so published, in this order."""
    with Session(engine) as session, session.begin():
        session.get_one(Order, order_id).state = "completed"
        for happened in ("OrderPaid", "OrderShipped"):
            session.add(Event(
                aggregate_type="order", aggregate_id=str(order_id),
                type=happened, payload={"event": happened,
                                        "orderId": order_id}))


def main():
    engine = create_engine("postgresql+psycopg2://")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    complete(engine, place(engine, "alice", 1250, trace))
    try:
        place(engine, "nobody", None, trace)  # cents is not null: rolled back
    except Exception as failure:  # pylint: disable=broad-except
        print(f"not placed: {type(failure).__name__}")


if __name__ == "__main__":
    main()
