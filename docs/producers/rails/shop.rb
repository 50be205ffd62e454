# Orders and their events with ActiveRecord, as a Rails application has it.
#
# PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
# sql/outbox.sql and docs/producers/schema.sql.

require "active_record"

ActiveRecord::Base.establish_connection(adapter: "postgresql")

# begin: entity
class Event < ActiveRecord::Base
  self.table_name = "outbox"
  self.inheritance_column = nil # `type` is a column like any other
end
# end: entity

class Order < ActiveRecord::Base
end

class AvroEvent < ActiveRecord::Base
  self.table_name = "outbox_avro"
end

# begin: place
def place(customer, cents, trace)
  Order.transaction do
    order = Order.create!(customer: customer, cents: cents)
    placed = { orderId: order.id, customer: customer, cents: cents }
    Event.create!(aggregate_type: "order", aggregate_id: order.id.to_s,
                  type: "OrderPlaced",
                  payload: { event: "OrderPlaced", **placed },
                  headers: { traceparent: trace })
    AvroEvent.create!(aggregate_type: "order", aggregate_id: order.id.to_s,
                      payload: framed(**placed))
    order.id
  end
end
# end: place

SCHEMA_ID = 7 # as the registry answered when the schema was registered

# Stands for the serializer of your registry, which writes the same bytes: 0, the
# schema's id, the Avro body (a long, a string, a long).
def framed(orderId:, customer:, cents:)
  [0, SCHEMA_ID].pack("CN") + avro_long(orderId) +
    avro_long(customer.bytesize) + customer.b + avro_long(cents)
end

def avro_long(number)
  number = (number << 1) ^ (number >> 63)
  bytes = []
  while number > 0x7f
    bytes << (number & 0x7f | 0x80)
    number >>= 7
  end
  (bytes << number).pack("C*")
end

# Two events of one key: inserted, and so published, in this order.
def complete(order_id)
  Order.transaction do
    Order.find(order_id).update!(state: "completed")
    %w[OrderPaid OrderShipped].each do |happened|
      Event.create!(aggregate_type: "order", aggregate_id: order_id.to_s,
                    type: happened,
                    payload: { event: happened, orderId: order_id })
    end
  end
end

def place_and_fail(trace)
  Order.transaction do
    place("nobody", 1, trace)
    raise "the card was declined"
  end
end

trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
complete(place("alice", 1250, trace))
begin
  place_and_fail(trace) # rolled back: no order, no event
rescue RuntimeError => e
  puts "not placed: #{e.message}"
end
