package shop;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.UUID;
import org.hibernate.annotations.ColumnTransformer;
import org.hibernate.annotations.Immutable;
import org.hibernate.annotations.UuidGenerator;

// begin: entity
@Entity
@Immutable // a row is inserted and never updated: walpost publishes the INSERT
@Table(name = "outbox")
class Event {
  @Id
  @UuidGenerator(style = UuidGenerator.Style.VERSION_7)
  UUID id;

  @Column(name = "aggregate_type")
  String aggregateType;

  @Column(name = "aggregate_id")
  String aggregateId;

  String type;

  @ColumnTransformer(write = "?::json") // not @Lob
  String payload;

  @ColumnTransformer(write = "?::jsonb")
  String headers;

  protected Event() {}

  Event(String type, long orderId, String payload, String headers) {
    this.aggregateType = "order";
    this.aggregateId = Long.toString(orderId);
    this.type = type;
    this.payload = payload;
    this.headers = headers;
  }
}
// end: entity
