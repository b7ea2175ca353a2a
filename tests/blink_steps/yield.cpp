// yield.cpp - whoever waits here waits for an operation of the same thread, so its processor is given to nobody.
//
// An operation that cannot go on passes thousands of points, and pause() gives the processor away at most of them.
// While another program runs, each of these would cost a slice of the scheduler: with two programs on two processors
// this folder took eight minutes, most of it asleep, in place of half a minute.
#include <sched.h>

extern "C" int sched_yield() noexcept { return 0; }
