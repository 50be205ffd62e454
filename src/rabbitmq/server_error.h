// What an error of RabbitMQ means, and what an operator does about it.
//
// The server closes the channel or the connection with a code and a text
// (AMQP 0-9-1, 1.2): 404 "NOT_FOUND - no exchange 'orders' in vhost '/'".
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace walpost::rabbitmq {

struct ServerError {
  uint16_t code = 0;
  std::string text;

  bool operator==(const ServerError&) const = default;
};

inline constexpr uint16_t kAmqpConnectionForced = 320;
inline constexpr uint16_t kAmqpNoRoute = 312;
inline constexpr uint16_t kAmqpAccessRefused = 403;
inline constexpr uint16_t kAmqpNotFound = 404;
inline constexpr uint16_t kAmqpPreconditionFailed = 406;
inline constexpr uint16_t kAmqpNotAllowed = 530;

// Who is connected, for remedies.
struct RabbitmqLogin {
  std::string user;
  std::string vhost;
};

// Why a connection cannot be used, or stopped being of use: "ATTEMPTED:
// CODE TEXT: REMEDY". kUnavailable, or kAborted if the channel had messages.
absl::Status StatusFromServer(const ServerError& error,
                              const std::string& attempted,
                              const RabbitmqLogin& login);

// How to fix it, as a sentence with a command; empty: not known.
std::string RemedyOf(const ServerError& error, const RabbitmqLogin& login);

// True if the cause is a user, a password or a certificate.
bool RejectsLogin(const ServerError& error);

// The size of the message that is larger than the server takes; 0: the error is
// another one.
size_t TooLargeMessageOf(const ServerError& error);

}  // namespace walpost::rabbitmq
