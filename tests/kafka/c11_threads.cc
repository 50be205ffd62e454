// ThreadSanitizer must see a thread begin, and does not know C11's way, which
// librdkafka takes. Linked under that sanitizer alone.
#include <pthread.h>
#include <threads.h>

#include <cstdint>
#include <memory>

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* Run(void* start) {
  const std::unique_ptr<Start> owned(static_cast<Start*>(start));
  const std::intptr_t result = owned->function(owned->argument);
  return reinterpret_cast<void*>(result);
}

}  // namespace

extern "C" int thrd_create(thrd_t* thread, thrd_start_t function,
                           void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  if (pthread_create(thread, nullptr, &Run, start.get()) != 0) {
    return thrd_error;
  }
  start.release();  // Run owns it now
  return thrd_success;
}
