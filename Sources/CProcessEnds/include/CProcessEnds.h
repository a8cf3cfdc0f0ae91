// Defines _exit, _Exit and daemon, which note that the process ended itself. The system's headers declare them, so
// nothing is declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
