// A pthread_create of the program's own, which gives every thread an alternate signal stack once startHandler has asked
// for that. It is called by its old name, so nothing is declared here.
#ifndef CTHREADSTACKS_H
#define CTHREADSTACKS_H
#endif
