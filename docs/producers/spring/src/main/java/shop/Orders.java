package shop;

import jakarta.persistence.EntityManager;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
class Orders {
  private final EntityManager entities;

  Orders(EntityManager entities) {
    this.entities = entities;
  }

  // begin: place
  @Transactional
  public long place(String customer, long cents, String trace) {
    Order order = new Order(customer, cents);
    entities.persist(order);
    entities.persist(new Event("OrderPlaced", order.id,
        """
        {"event": "OrderPlaced", "orderId": %d, "customer": "%s", "cents": %d}"""
            .formatted(order.id, customer, cents),
        "{\"traceparent\": \"" + trace + "\"}"));
    entities.persist(new AvroEvent(
        order.id, Serializer.framed(order.id, customer, cents)));
    return order.id;
  }
  // end: place

  /** Two events of one key: inserted, and so published, in this order. */
  @Transactional
  public void complete(long orderId) {
    entities.find(Order.class, orderId).state = "completed";
    for (String happened : new String[] {"OrderPaid", "OrderShipped"}) {
      entities.persist(new Event(happened, orderId,
          """
          {"event": "%s", "orderId": %d}""".formatted(happened, orderId), null));
    }
  }

  @Transactional
  public void placeAndFail(String trace) {
    place("nobody", 1, trace);
    throw new IllegalStateException("the card was declined");
  }
}
