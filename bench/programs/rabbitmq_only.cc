// The ceiling of RabbitMQ: librabbitmq with publisher confirms.
#include <amqp.h>
#include <amqp_tcp_socket.h>

#include "programs/client_only.h"

namespace walpost::bench {
namespace {

amqp_bytes_t Bytes(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

// Confirms that are there already; or one that is waited for.
int64_t ReadConfirms(amqp_connection_state_t connection, bool may_wait,
                     int64_t confirmed) {
  for (;;) {
    timeval at_once{0, 0};
    amqp_frame_t frame;
    const int status = amqp_simple_wait_frame_noblock(
        connection, &frame, may_wait ? nullptr : &at_once);
    if (status == AMQP_STATUS_TIMEOUT) return confirmed;
    Require(status == AMQP_STATUS_OK, amqp_error_string2(status));
    Require(frame.frame_type == AMQP_FRAME_METHOD &&
                frame.payload.method.id == AMQP_BASIC_ACK_METHOD,
            "not an ack");
    const auto* ack =
        static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
    const auto tag = static_cast<int64_t>(ack->delivery_tag);
    confirmed = ack->multiple ? tag : confirmed + 1;
    amqp_maybe_release_buffers(connection);
    may_wait = false;
  }
}

void Publish(const Arguments& arguments) {
  amqp_connection_state_t connection = amqp_new_connection();
  amqp_socket_t* socket = amqp_tcp_socket_new(connection);
  Require(amqp_socket_open(socket, arguments.host.c_str(), arguments.port) == 0,
          "no connection");
  amqp_login(connection, "/", 1, 131'072, 0, AMQP_SASL_METHOD_PLAIN, "guest",
             "guest");
  amqp_channel_open(connection, 1);
  amqp_confirm_select(connection, 1);
  Require(amqp_get_rpc_reply(connection).reply_type == AMQP_RESPONSE_NORMAL,
          "no channel");
  int64_t confirmed = 0;
  for (int64_t n = 0; n < arguments.records; ++n) {
    const std::string value = ValueOf(n);
    const std::string id = IdOf(n);
    amqp_basic_properties_t properties{};
    properties._flags =
        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
    properties.message_id = Bytes(id);
    const int status = amqp_basic_publish(
        connection, 1, amqp_cstring_bytes("bench"), amqp_cstring_bytes(kPlace),
        /*mandatory=*/1, /*immediate=*/0, &properties, Bytes(value));
    Require(status == AMQP_STATUS_OK, amqp_error_string2(status));
    confirmed = ReadConfirms(connection, n - confirmed >= kWindow, confirmed);
  }
  while (confirmed < arguments.records) {
    confirmed = ReadConfirms(connection, true, confirmed);
  }
  amqp_destroy_connection(connection);
}

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  walpost::bench::Publish(walpost::bench::Parse(count, words));
}
