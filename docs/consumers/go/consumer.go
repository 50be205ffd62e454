// A consumer whose effects happen once, though records may come twice: it writes
// an invoice for each order, in PostgreSQL.
//
//	consumer GROUP BROKERS TOPIC
//
// PGHOST, PGPORT, PGDATABASE and PGUSER say where its database is. The database
// needs sql/processed_events.sql and docs/consumers/schema.sql.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// begin: loop
func consume(ctx context.Context, group, brokers, topic string,
	db *pgx.Conn) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		// franz-go reads uncommitted by default.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(6*time.Second),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollRecords(ctx, 100)
		if err := fetches.Err(); err != nil {
			return err
		}
		records := fetches.Records()
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			for _, record := range records {
				if err := handle(ctx, tx, group, record); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err // ends the process: the records come again
		}
		// Only now. If another consumer has the partitions, it gets the records
		// again, and finds them claimed.
		if err := client.CommitRecords(ctx, records...); err != nil {
			log.Println("offsets not committed:", err)
		}
	}
}

// end: loop

func handle(ctx context.Context, tx pgx.Tx, group string,
	record *kgo.Record) error {
	id, err := header(record, "id")
	if err != nil {
		return err
	}
	var isFirst bool
	err = tx.QueryRow(ctx, "select claim_event($1, $2)", group, id).Scan(&isFirst)
	if err != nil || !isFirst || record.Value == nil {
		return err
	}
	var event struct {
		Event, Customer string
		OrderID, Cents  int64
	}
	if err := json.Unmarshal(record.Value, &event); err != nil {
		return fmt.Errorf("partition %d at offset %d: %w", record.Partition,
			record.Offset, err)
	}
	if event.Event != "OrderPlaced" {
		return nil
	}
	_, err = tx.Exec(ctx, `insert into invoice (order_id, customer, cents)
		values ($1, $2, $3)`, event.OrderID, event.Customer, event.Cents)
	return err
}

func header(record *kgo.Record, name string) (string, error) {
	for _, header := range record.Headers {
		if header.Key == name {
			return string(header.Value), nil
		}
	}
	return "", fmt.Errorf("partition %d at offset %d has no header %s",
		record.Partition, record.Offset, name)
}

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, "") // PGHOST and the others
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	err = consume(ctx, os.Args[1], os.Args[2], os.Args[3], db)
	if err != nil {
		log.Fatal(err)
	}
}
