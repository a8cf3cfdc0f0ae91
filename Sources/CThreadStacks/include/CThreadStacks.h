// Defines pthread_create, which gives every thread an alternate signal stack after startHandler has turned that on,
// and sigaltstack, which records each thread's alternate stack. The system's headers declare them, so nothing is
// declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
