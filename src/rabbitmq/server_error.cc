#include "rabbitmq/server_error.h"

#include <string_view>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

// The word in quotes behind `before`, as in "no exchange 'orders' in vhost".
std::string Quoted(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const size_t open = text.find('\'', at + before.size());
  if (open == std::string_view::npos) return "";
  const size_t close = text.find('\'', open + 1);
  if (close == std::string_view::npos) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

bool Has(const ServerError& error, std::string_view part) {
  return error.text.find(part) != std::string::npos;
}

std::string OfRefusedAccess(const ServerError& error,
                            const RabbitmqLogin& login) {
  if (Has(error, "vhost")) {
    const std::string vhost = Quoted(error.text, "vhost");
    const bool is_of_vhost = Has(error, "access to vhost");
    if (is_of_vhost) {
      return fmt::format(
          "give the user the right: rabbitmqctl set_permissions -p '{}' '{}' "
          "'' '.*' ''",
          vhost, login.user);
    }
    return fmt::format(
        "give the user the right, without taking others (rabbitmqctl "
        "list_permissions -p '{0}' shows them): rabbitmqctl set_permissions -p "
        "'{0}' '{1}' '.*' '.*' '.*'; these are configure, write and read: "
        "without rabbitmq.create the second is enough",
        login.vhost, login.user);
  }
  return "check rabbitmq.user and rabbitmq.password";
}

}  // namespace

std::string RemedyOf(const ServerError& error, const RabbitmqLogin& login) {
  switch (error.code) {
    case kAmqpAccessRefused:
      return OfRefusedAccess(error, login);
    case kAmqpNotAllowed:
      if (Has(error, "not found")) {
        return fmt::format(
            "set rabbitmq.vhost, or create it: rabbitmqctl add_vhost '{}'",
            login.vhost);
      }
      if (Has(error, "access to vhost")) return OfRefusedAccess(error, login);
      return "";
    case kAmqpNotFound: {
      const std::string exchange = Quoted(error.text, "no exchange");
      if (!exchange.empty()) {
        return fmt::format(
            "create the exchange, for example: rabbitmqadmin --vhost='{}' "
            "declare exchange name='{}' type=topic durable=true; or set "
            "rabbitmq.create",
            login.vhost, exchange);
      }
      return "";
    }
    case kAmqpPreconditionFailed:
      if (TooLargeMessageOf(error) > 0) {
        return "raise max_message_size in rabbitmq.conf; "
               "rabbitmq.max_message_bytes must not be more";
      }
      return "";
    default:
      return "";
  }
}

absl::Status StatusFromServer(const ServerError& error,
                              const std::string& attempted,
                              const RabbitmqLogin& login) {
  const std::string remedy = RemedyOf(error, login);
  return absl::AbortedError(fmt::format("{}: RabbitMQ answers {} {}{}{}",
                                        attempted, error.code, error.text,
                                        remedy.empty() ? "" : ": ", remedy));
}

bool RejectsLogin(const ServerError& error) {
  return error.code == kAmqpAccessRefused && !Has(error, "vhost");
}

// "PRECONDITION_FAILED - message size 20 is larger than configured max size 10"
// (3.8 to 4.x; some have "is larger than max size").
size_t TooLargeMessageOf(const ServerError& error) {
  constexpr std::string_view kBefore = "message size ";
  if (error.code != kAmqpPreconditionFailed) return 0;
  const size_t at = error.text.find(kBefore);
  if (at == std::string::npos || !Has(error, "larger than")) return 0;
  const size_t begin = at + kBefore.size();
  const size_t end = error.text.find(' ', begin);
  size_t size = 0;
  const bool is_number =
      absl::SimpleAtoi(error.text.substr(begin, end - begin), &size);
  return is_number ? size : 0;
}

}  // namespace walpost::rabbitmq
