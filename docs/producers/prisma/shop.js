// Orders and their events with Prisma 7.
//
// PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
// sql/outbox.sql and docs/producers/schema.sql, and once `prisma generate`.

const avro = require("avsc");
const { PrismaPg } = require("@prisma/adapter-pg");
const { PrismaClient } = require("./generated");

const OrderPlaced = avro.Type.forSchema({
  type: "record",
  name: "OrderPlaced",
  fields: [
    { name: "orderId", type: "long" },
    { name: "customer", type: "string" },
    { name: "cents", type: "long" },
  ],
});
const SCHEMA_ID = 7; // as the registry answered when the schema was registered

const prisma = new PrismaClient({ adapter: new PrismaPg({}) });

// begin: place
function place(customer, cents, trace) {
  return prisma.$transaction(async (tx) => {
    // All of it through tx: what goes through prisma is not in the transaction.
    const order = await tx.order.create({ data: { customer, cents } });
    const key = String(order.id);
    const placed = {
      event: "OrderPlaced", orderId: Number(order.id), customer, cents,
    };
    await tx.event.create({
      data: {
        aggregateType: "order", aggregateId: key, type: "OrderPlaced",
        payload: placed, headers: { traceparent: trace },
      },
    });
    await tx.avroEvent.create({
      data: { aggregateType: "order", aggregateId: key, payload: framed(placed) },
    });
    return order.id;
  });
}
// end: place

// As a registry's serializer writes it: 0, the schema's id, the body.
function framed(placed) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(SCHEMA_ID, 1);
  return Buffer.concat([head, OrderPlaced.toBuffer(placed)]);
}

// Two events of one key: inserted, and so published, in this order.
function complete(orderId) {
  return prisma.$transaction(async (tx) => {
    await tx.order.update({
      where: { id: orderId }, data: { state: "completed" },
    });
    for (const happened of ["OrderPaid", "OrderShipped"]) {
      await tx.event.create({
        data: {
          aggregateType: "order", aggregateId: String(orderId), type: happened,
          payload: { event: happened, orderId: Number(orderId) },
        },
      });
    }
  });
}

// Rolled back: no order, no event.
function placeAndFail() {
  return prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { customer: "nobody", cents: 1 } });
    await tx.event.create({
      data: { aggregateType: "order", aggregateId: "nobody", payload: {} },
    });
    throw new Error("the card was declined");
  });
}

async function main() {
  const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await complete(await place("alice", 1250, trace));
  await placeAndFail().catch((failure) => {
    console.log(`not placed: ${failure.message}`);
  });
  await prisma.$disconnect();
}

main();
