"""Orders and their events with Django, in one file.

PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
sql/outbox.sql and docs/producers/schema.sql.
"""

import io
import json
import os
import pathlib
import struct
import uuid

import django
import fastavro
from django.conf import settings
from django.db import models, transaction

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
    "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"]}})  # and PGPASSWORD, which libpq reads
django.setup()

_SCHEMA = fastavro.parse_schema(json.loads(
    pathlib.Path(__file__).parents[1].joinpath("order_placed.avsc").read_text()))
_SCHEMA_ID = 7  # as the registry answered when the schema was registered


class Order(models.Model):
    customer = models.TextField()
    cents = models.BigIntegerField()
    state = models.TextField(default="placed")

    class Meta:
        app_label = "shop"
        db_table = "orders"
        managed = False


# begin: entity
class PlainJSON(models.TextField):
    """A column of type json. Django's JSONField is for jsonb, which does not
    keep the bytes of the payload."""

    def db_type(self, connection):
        return "json"


class Event(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    aggregate_type = models.TextField()
    aggregate_id = models.TextField(null=True)
    type = models.TextField(null=True)
    payload = PlainJSON(null=True)
    headers = models.JSONField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "outbox"
        managed = False  # sql/outbox.sql makes the table
# end: entity


class AvroEvent(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    aggregate_type = models.TextField()
    aggregate_id = models.TextField(null=True)
    payload = models.BinaryField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "outbox_avro"
        managed = False


# begin: place
@transaction.atomic
def place(customer, cents, trace):
    order = Order.objects.create(customer=customer, cents=cents)
    placed = {"event": "OrderPlaced", "orderId": order.id,
              "customer": customer, "cents": cents}
    Event.objects.create(
        aggregate_type="order", aggregate_id=str(order.id), type="OrderPlaced",
        payload=json.dumps(placed), headers={"traceparent": trace})
    AvroEvent.objects.create(aggregate_type="order", aggregate_id=str(order.id),
                             payload=framed(placed))
    return order.id
# end: place


def framed(record):
    """As a registry's serializer writes it: 0, the schema's id, the body."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _SCHEMA, record)
    return struct.pack(">bI", 0, _SCHEMA_ID) + body.getvalue()


@transaction.atomic
def complete(order_id):
    """Two events of one key: inserted, and so published, in this order."""
    Order.objects.filter(pk=order_id).update(state="completed")
    Event.objects.bulk_create([
        Event(aggregate_type="order", aggregate_id=str(order_id), type=happened,
              payload=json.dumps({"event": happened, "orderId": order_id}))
        for happened in ("OrderPaid", "OrderShipped")])


@transaction.atomic
def place_and_fail(trace):
    place("nobody", 1, trace)
    raise ValueError("the card was declined")


def main():
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    complete(place("alice", 1250, trace))
    try:
        place_and_fail(trace)  # rolled back: no order, no event
    except ValueError as failure:
        print(f"not placed: {failure}")


if __name__ == "__main__":
    main()
