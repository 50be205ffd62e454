import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Writes an invoice for each order, in PostgreSQL. Its effects happen once, though
 * records may come twice.
 *
 * <p>java Consumer GROUP BROKERS TOPIC id|position
 *
 * <p>PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD say where its database is.
 * The database needs docs/consumers/schema.sql, and sql/processed_events.sql (id)
 * or docs/consumers/positions.sql (position). docs/consume.md has the commands.
 */
public class Consumer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String group;
  private final Connection database;
  private final boolean byPosition;

  Consumer(String group, Connection database, boolean byPosition) {
    this.group = group;
    this.database = database;
    this.byPosition = byPosition;
  }

  public static void main(String[] words) throws SQLException {
    // begin: loop
    Map<String, Object> properties = Map.of(
        "group.id", words[0],
        "bootstrap.servers", words[1],
        "enable.auto.commit", false,
        "auto.offset.reset", "earliest",
        // Java's default is read_uncommitted: records of aborted transactions.
        "isolation.level", "read_committed",
        "session.timeout.ms", 6000,
        "key.deserializer", ByteArrayDeserializer.class,
        "value.deserializer", ByteArrayDeserializer.class);
    try (KafkaConsumer<byte[], byte[]> kafka = new KafkaConsumer<>(properties);
        Connection database = DriverManager.getConnection(url(),
            System.getenv("PGUSER"), System.getenv("PGPASSWORD"))) {
      database.setAutoCommit(false);
      Consumer consumer =
          new Consumer(words[0], database, words[3].equals("position"));
      kafka.subscribe(List.of(words[2]));
      while (true) {
        ConsumerRecords<byte[], byte[]> records =
            kafka.poll(Duration.ofSeconds(1));
        for (ConsumerRecord<byte[], byte[]> record : records) {
          consumer.handle(record);
        }
        database.commit(); // effects and claims, in one transaction
        try {
          kafka.commitSync(); // only now
        } catch (CommitFailedException | RebalanceInProgressException lost) {
          // Another consumer has these partitions by now. It gets the records
          // again, and finds them claimed.
        }
      }
    }
    // An exception ends the process. To go on instead, seek() back to the first
    // record of the batch: the next commitSync() would commit past it.
    // end: loop
  }

  // begin: handle
  private void handle(ConsumerRecord<byte[], byte[]> record)
      throws SQLException {
    boolean isFirst = byPosition ? advance(record) : claim(record);
    if (!isFirst || record.value() == null) { // null: an event without payload
      return;
    }
    bill(record);
  }

  private boolean claim(ConsumerRecord<byte[], byte[]> record)
      throws SQLException {
    return isTrue("select claim_event(?, ?)", group, header(record, "id"));
  }

  private boolean advance(ConsumerRecord<byte[], byte[]> record)
      throws SQLException {
    return isTrue("select advance_position(?, ?, ?, ?)", group, record.topic(),
        record.partition(), header(record, "walpost-position"));
  }
  // end: handle

  private void bill(ConsumerRecord<byte[], byte[]> record)
      throws SQLException {
    long order;
    String customer;
    long cents;
    try {
      JsonNode event = JSON.readTree(record.value());
      if (!event.required("event").asText().equals("OrderPlaced")) {
        return;
      }
      order = event.required("orderId").longValue();
      customer = event.required("customer").asText();
      cents = event.required("cents").longValue();
    } catch (IOException | IllegalArgumentException failure) {
      throw new IllegalStateException(record.topic() + "-" + record.partition()
          + " at offset " + record.offset() + " is not an event of an order", failure);
    }
    try (PreparedStatement statement = database.prepareStatement(
        "insert into invoice (order_id, customer, cents) values (?, ?, ?)")) {
      statement.setLong(1, order);
      statement.setString(2, customer);
      statement.setLong(3, cents);
      statement.executeUpdate();
    }
  }

  private boolean isTrue(String query, Object... values) throws SQLException {
    try (PreparedStatement statement = database.prepareStatement(query)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        return row.getBoolean(1);
      }
    }
  }

  private static String header(ConsumerRecord<byte[], byte[]> record,
      String name) {
    Header header = record.headers().lastHeader(name);
    if (header == null) {
      throw new IllegalStateException("a record without header " + name);
    }
    return new String(header.value(), StandardCharsets.UTF_8);
  }

  private static String url() {
    return String.format("jdbc:postgresql://%s:%s/%s",
        System.getenv("PGHOST"), System.getenv("PGPORT"),
        System.getenv("PGDATABASE"));
  }
}
