package shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Orders and their events with Spring Boot 4 and JPA (Hibernate 7).
 *
 * <p>PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
 * sql/outbox.sql and docs/producers/schema.sql.
 */
@SpringBootApplication
public class Shop {
  private static final String TRACE =
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

  public static void main(String[] words) {
    try (ConfigurableApplicationContext context =
        SpringApplication.run(Shop.class, words)) {
      Orders orders = context.getBean(Orders.class);
      orders.complete(orders.place("alice", 1250, TRACE));
      try {
        orders.placeAndFail(TRACE); // rolled back: no order, no event
      } catch (IllegalStateException failure) {
        System.out.println("not placed: " + failure.getMessage());
      }
    }
  }
}
