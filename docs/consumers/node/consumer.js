// A consumer whose effects happen once, though records may come twice: it writes
// an invoice for each order, in PostgreSQL.
//
//   node consumer.js GROUP BROKERS TOPIC
//
// PGHOST, PGPORT, PGDATABASE and PGUSER say where its database is. The database
// needs sql/processed_events.sql and docs/consumers/schema.sql.

const { Kafka, logLevel } = require("kafkajs");
const { Pool } = require("pg");

const [group, brokers, topic] = process.argv.slice(2);

const pool = new Pool(); // PGHOST and the others
const kafka = new Kafka({
  clientId: group, brokers: brokers.split(","), logLevel: logLevel.ERROR,
});

// begin: loop
async function main() {
  // KafkaJS reads committed records unless readUncommitted is set.
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000 });
  // Let a supervisor start the process again: its records come again.
  consumer.on(consumer.events.CRASH, () => process.exit(1));
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, isStale }) => {
      if (isStale()) return;
      await inTransaction(async (database) => {
        for (const message of batch.messages) {
          await handle(database, message);
        }
      });
      const next = (BigInt(batch.lastOffset()) + 1n).toString();
      await consumer.commitOffsets([
        { topic: batch.topic, partition: batch.partition, offset: next },
      ]);
    },
  });
}
// end: loop

async function inTransaction(work) {
  const database = await pool.connect();
  try {
    await database.query("begin");
    await work(database);
    await database.query("commit");
  } catch (failure) {
    await database.query("rollback");
    throw failure;
  } finally {
    database.release();
  }
}

async function handle(database, message) {
  const { rows } = await database.query(
    "select claim_event($1, $2) as is_first",
    [group, message.headers.id.toString()]);
  if (!rows[0].is_first || message.value === null) return;
  const event = JSON.parse(message.value);
  if (event.event !== "OrderPlaced") return;
  await database.query(
    "insert into invoice (order_id, customer, cents) values ($1, $2, $3)",
    [event.orderId, event.customer, event.cents]);
}

main();
