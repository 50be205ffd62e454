// Orders and their events with Go and pgx.
//
// PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
// sql/outbox.sql and docs/producers/schema.sql.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/google/uuid"
	"github.com/hamba/avro/v2"
	"github.com/jackc/pgx/v5"
)

var placedSchema = avro.MustParse(`{"type": "record", "name": "OrderPlaced",
	"fields": [{"name": "orderId", "type": "long"},
		{"name": "customer", "type": "string"},
		{"name": "cents", "type": "long"}]}`)

// As the registry answered when the schema was registered.
const schemaID = 7

// OrderPlaced is the content of an event.
type OrderPlaced struct {
	Event    string `json:"event" avro:"-"`
	OrderID  int64   `json:"orderId" avro:"orderId"`
	Customer string `json:"customer" avro:"customer"`
	Cents    int64  `json:"cents" avro:"cents"`
}

// begin: emit
// emit inserts an event, in the transaction of what it tells of.
func emit(ctx context.Context, tx pgx.Tx, kind string, orderID int64,
	content any, headers map[string]string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	payload, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into outbox
		(id, aggregate_type, aggregate_id, type, payload, headers)
		values ($1, 'order', $2, $3, $4, $5)`,
		id, strconv.FormatInt(orderID, 10), kind, payload, headers)
	return err
}

// end: emit

// begin: place
func place(ctx context.Context, db *pgx.Conn, customer string, cents int64,
	trace string) (orderID int64, err error) {
	// BeginFunc commits if the function returns nil, and else rolls back. Its
	// error is also that of the commit: then nothing is known to be written.
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `insert into orders (customer, cents)
			values ($1, $2) returning id`, customer, cents).Scan(&orderID)
		if err != nil {
			return err
		}
		placed := OrderPlaced{"OrderPlaced", orderID, customer, cents}
		if err := emit(ctx, tx, "OrderPlaced", orderID, placed,
			map[string]string{"traceparent": trace}); err != nil {
			return err
		}
		return emitAvro(ctx, tx, orderID, placed)
	})
	return orderID, err
}

// end: place

func emitAvro(ctx context.Context, tx pgx.Tx, orderID int64,
	placed OrderPlaced) error {
	body, err := avro.Marshal(placedSchema, placed)
	if err != nil {
		return err
	}
	// As a registry's serializer writes it: 0, the schema's id, the body.
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, schemaID), body...)
	_, err = tx.Exec(ctx, `insert into outbox_avro
		(aggregate_type, aggregate_id, payload) values ('order', $1, $2)`,
		strconv.FormatInt(orderID, 10), framed)
	return err
}

// complete writes two events of one key: inserted, and so published, in this
// order.
func complete(ctx context.Context, db *pgx.Conn, orderID int64) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `update orders set state = 'completed'
			where id = $1`, orderID); err != nil {
			return err
		}
		for _, happened := range []string{"OrderPaid", "OrderShipped"} {
			if err := emit(ctx, tx, happened, orderID, map[string]any{
				"event": happened, "orderId": orderID}, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func placeAndFail(ctx context.Context, db *pgx.Conn) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := emit(ctx, tx, "OrderPlaced", 0, nil, nil); err != nil {
			return err
		}
		return errors.New("the card was declined")
	})
}

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, "") // PGHOST and the others
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	orderID, err := place(ctx, db, "alice", 1250,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err != nil {
		log.Fatal(err)
	}
	if err := complete(ctx, db, orderID); err != nil {
		log.Fatal(err)
	}
	// Rolled back: no event.
	fmt.Println("not placed:", placeAndFail(ctx, db))
}
