// A consumer whose effects happen once, though records may come twice: it writes
// an invoice for each order, in PostgreSQL. With the packages Confluent.Kafka and
// Npgsql:
//
//   dotnet run BROKERS TOPIC CONNECTION_STRING
//
// The database needs sql/processed_events.sql and docs/consumers/schema.sql.

using System.Text;
using System.Text.Json;
using Confluent.Kafka;
using Npgsql;

const string Name = "billing";

// begin: loop
var properties = new ConsumerConfig
{
    BootstrapServers = args[0],
    GroupId = Name,
    EnableAutoCommit = false,
    AutoOffsetReset = AutoOffsetReset.Earliest,
    // The default of librdkafka, which Confluent.Kafka is made of.
    IsolationLevel = IsolationLevel.ReadCommitted,
};
using var kafka = new ConsumerBuilder<byte[], byte[]>(properties).Build();
await using var database = NpgsqlDataSource.Create(args[2]);
kafka.Subscribe(args[1]);
while (true)
{
    var record = kafka.Consume();
    await using var connection = await database.OpenConnectionAsync();
    await using var transaction = await connection.BeginTransactionAsync();
    await Handle(connection, record.Message);
    await transaction.CommitAsync(); // effect and claim
    try
    {
        kafka.Commit(record); // only now
    }
    catch (KafkaException lost)
    {
        // Another consumer may have this partition by now. It gets the record
        // again, and finds it claimed.
        Console.WriteLine($"offset not committed: {lost.Error.Reason}");
    }
}
// end: loop

static async Task Handle(
    NpgsqlConnection connection, Message<byte[], byte[]> message)
{
    var id = Encoding.UTF8.GetString(message.Headers.GetLastBytes("id"));
    await using var claim = new NpgsqlCommand(
        "select claim_event($1, $2)", connection)
    {
        Parameters = { new() { Value = Name }, new() { Value = id } },
    };
    if (!(bool)(await claim.ExecuteScalarAsync())! || message.Value is null)
    {
        return;
    }
    using var json = JsonDocument.Parse(message.Value);
    var placed = json.RootElement;
    if (placed.GetProperty("event").GetString() != "OrderPlaced")
    {
        return;
    }
    await using var add = new NpgsqlCommand(
        "insert into invoice (order_id, customer, cents) values ($1, $2, $3)",
        connection)
    {
        Parameters =
        {
            new() { Value = placed.GetProperty("orderId").GetInt64() },
            new() { Value = placed.GetProperty("customer").GetString()! },
            new() { Value = placed.GetProperty("cents").GetInt64() },
        },
    };
    await add.ExecuteNonQueryAsync();
}
