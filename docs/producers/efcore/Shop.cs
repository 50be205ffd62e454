// Orders and their events with EF Core 9 and Npgsql: packages
// Npgsql.EntityFrameworkCore.PostgreSQL and Apache.Avro.
//
// It needs sql/outbox.sql and docs/producers/schema.sql in the database of
// SHOP_DATABASE (a connection string of Npgsql).

using System.Buffers.Binary;
using System.Text.Json;
using Avro;
using Avro.Generic;
using Avro.IO;
using Microsoft.EntityFrameworkCore;

const string Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

await using var shop = new Shop();
await shop.Complete(await shop.Place("alice", 1250, Trace));

public class Order
{
    public long Id { get; set; }
    public required string Customer { get; set; }
    public long Cents { get; set; }
    public string State { get; set; } = "placed";
}

// begin: entity
public class Event
{
    public Guid Id { get; init; } = Guid.CreateVersion7();
    public required string AggregateType { get; init; }
    public string? AggregateId { get; init; }
    public string? Type { get; init; }
    public string? Payload { get; init; }
    public string? Headers { get; init; }
}
// end: entity

public class AvroEvent
{
    public Guid Id { get; init; } = Guid.CreateVersion7();
    public required string AggregateType { get; init; }
    public string? AggregateId { get; init; }
    public byte[]? Payload { get; init; }
}

public class Shop : DbContext
{
    public DbSet<Order> Orders => Set<Order>();
    public DbSet<Event> Events => Set<Event>();
    public DbSet<AvroEvent> AvroEvents => Set<AvroEvent>();

    protected override void OnConfiguring(DbContextOptionsBuilder options) =>
        options.UseNpgsql(Environment.GetEnvironmentVariable("SHOP_DATABASE"));

    protected override void OnModelCreating(ModelBuilder model)
    {
        model.Entity<Order>(order =>
        {
            order.ToTable("orders");
            order.Property(o => o.Id).HasColumnName("id");
            order.Property(o => o.Customer).HasColumnName("customer");
            order.Property(o => o.Cents).HasColumnName("cents");
            order.Property(o => o.State).HasColumnName("state");
        });
        model.Entity<Event>(outbox =>
        {
            outbox.ToTable("outbox");
            outbox.Property(e => e.Id).HasColumnName("id");
            outbox.Property(e => e.AggregateType).HasColumnName("aggregate_type");
            outbox.Property(e => e.AggregateId).HasColumnName("aggregate_id");
            outbox.Property(e => e.Type).HasColumnName("type");
            outbox.Property(e => e.Payload)
                .HasColumnName("payload").HasColumnType("json");
            outbox.Property(e => e.Headers)
                .HasColumnName("headers").HasColumnType("jsonb");
        });
        model.Entity<AvroEvent>(outbox =>
        {
            outbox.ToTable("outbox_avro");
            outbox.Property(e => e.Id).HasColumnName("id");
            outbox.Property(e => e.AggregateType).HasColumnName("aggregate_type");
            outbox.Property(e => e.AggregateId).HasColumnName("aggregate_id");
            outbox.Property(e => e.Payload).HasColumnName("payload");
        });
    }

    // begin: place
    public async Task<long> Place(string customer, long cents, string trace)
    {
        await using var transaction = await Database.BeginTransactionAsync();
        var order = new Order { Customer = customer, Cents = cents };
        Orders.Add(order);
        await SaveChangesAsync(); // gives order.Id
        var placed = new
        {
            @event = "OrderPlaced", orderId = order.Id, customer, cents,
        };
        Events.Add(new Event
        {
            AggregateType = "order",
            AggregateId = order.Id.ToString(),
            Type = "OrderPlaced",
            Payload = JsonSerializer.Serialize(placed),
            Headers = JsonSerializer.Serialize(new { traceparent = trace }),
        });
        AvroEvents.Add(new AvroEvent
        {
            AggregateType = "order",
            AggregateId = order.Id.ToString(),
            Payload = Serializer.Framed(order.Id, customer, cents),
        });
        await SaveChangesAsync();
        await transaction.CommitAsync();
        return order.Id;
    }
    // end: place

    // Two events of one key, in this order: a SaveChanges for each.
    public async Task Complete(long orderId)
    {
        await using var transaction = await Database.BeginTransactionAsync();
        (await Orders.SingleAsync(o => o.Id == orderId)).State = "completed";
        foreach (var happened in new[] { "OrderPaid", "OrderShipped" })
        {
            Events.Add(new Event
            {
                AggregateType = "order",
                AggregateId = orderId.ToString(),
                Type = happened,
                Payload = JsonSerializer.Serialize(
                    new { @event = happened, orderId }),
            });
            await SaveChangesAsync();
        }
        await transaction.CommitAsync();
    }
}

// Stands for the serializer of your registry, which writes the same bytes.
public static class Serializer
{
    private const int SchemaId = 7; // as the registry answered

    private static readonly RecordSchema Placed = (RecordSchema)Schema.Parse(
        """
        {"type": "record", "name": "OrderPlaced", "fields": [
          {"name": "orderId", "type": "long"},
          {"name": "customer", "type": "string"},
          {"name": "cents", "type": "long"}]}
        """);

    public static byte[] Framed(long orderId, string customer, long cents)
    {
        var record = new GenericRecord(Placed);
        record.Add("orderId", orderId);
        record.Add("customer", customer);
        record.Add("cents", cents);
        using var bytes = new MemoryStream();
        Span<byte> head = stackalloc byte[5];
        BinaryPrimitives.WriteInt32BigEndian(head[1..], SchemaId);
        bytes.Write(head);
        new GenericDatumWriter<GenericRecord>(Placed).Write(
            record, new BinaryEncoder(bytes));
        return bytes.ToArray();
    }
}
