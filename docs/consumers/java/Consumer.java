import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
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
 * Adds up the orders of each customer, in PostgreSQL. Its effects happen once,
 * though records may come twice.
 *
 * <p>java Consumer GROUP BROKERS TOPIC id|position
 *
 * <p>PGHOST, PGPORT, PGDATABASE and PGUSER say where its database is. The
 * database needs docs/consumers/schema.sql, and sql/processed_events.sql (id) or
 * docs/consumers/positions.sql (position).
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
        Connection database = DriverManager.getConnection(url())) {
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
    addUp(record);
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

  private void addUp(ConsumerRecord<byte[], byte[]> record)
      throws SQLException {
    BigDecimal amount;
    try {
      amount = JSON.readTree(record.value()).required("amount").decimalValue();
    } catch (IOException | IllegalArgumentException failure) {
      throw new IllegalStateException(record.topic() + "-" + record.partition()
          + " at offset " + record.offset() + " is not an order", failure);
    }
    try (PreparedStatement statement = database.prepareStatement("""
        insert into customer_total as t (customer, orders, amount)
        values (?, 1, ?) on conflict (customer) do update
        set orders = t.orders + 1, amount = t.amount + excluded.amount""")) {
      statement.setString(1, new String(record.key(), StandardCharsets.UTF_8));
      statement.setBigDecimal(2, amount);
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
    return String.format("jdbc:postgresql://%s:%s/%s?user=%s",
        System.getenv("PGHOST"), System.getenv("PGPORT"),
        System.getenv("PGDATABASE"), System.getenv("PGUSER"));
  }
}
