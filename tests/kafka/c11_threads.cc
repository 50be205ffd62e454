// ThreadSanitizer knows POSIX threads and not those of C11, which librdkafka
// takes: these are made from those. Linked under that sanitizer alone.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
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

int Outcome(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}

// As in glibc, which has one layout for both.
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t));

pthread_mutex_t* Posix(mtx_t* mutex) {
  return reinterpret_cast<pthread_mutex_t*>(mutex);
}

pthread_cond_t* Posix(cnd_t* condition) {
  return reinterpret_cast<pthread_cond_t*>(condition);
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  if (pthread_create(thread, nullptr, &Run, start.get()) != 0) {
    return thrd_error;
  }
  start.release();  // Run owns it now
  return thrd_success;
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) {
    *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  }
  return Outcome(error);
}

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) {
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  }
  const int error = pthread_mutex_init(Posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return Outcome(error);
}

int mtx_lock(mtx_t* mutex) { return Outcome(pthread_mutex_lock(Posix(mutex))); }

int mtx_trylock(mtx_t* mutex) {
  return Outcome(pthread_mutex_trylock(Posix(mutex)));
}

int mtx_unlock(mtx_t* mutex) {
  return Outcome(pthread_mutex_unlock(Posix(mutex)));
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Posix(mutex)); }

int cnd_init(cnd_t* condition) {
  return Outcome(pthread_cond_init(Posix(condition), nullptr));
}

int cnd_signal(cnd_t* condition) {
  return Outcome(pthread_cond_signal(Posix(condition)));
}

int cnd_broadcast(cnd_t* condition) {
  return Outcome(pthread_cond_broadcast(Posix(condition)));
}

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Outcome(pthread_cond_wait(Posix(condition), Posix(mutex)));
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Outcome(pthread_cond_timedwait(Posix(condition), Posix(mutex), until));
}

void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Posix(condition)); }

}  // extern "C"
