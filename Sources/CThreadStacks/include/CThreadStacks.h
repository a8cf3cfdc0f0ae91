// This target defines its own pthread_create and sigaltstack. Once startHandler has called pm_set_thread_start,
// pthread_create gives every new thread an alternate signal stack, unless memory runs out. The definition of
// sigaltstack records the alternate stack that a thread sets. The system's headers declare these functions, so nothing
// is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
