#!/bin/sh
# Stands in for c++: begins its output, and the compiler that called it gets the signal of SIGNAL, as by Ctrl-C in the middle of linking.
for word; do
  [ "$last" = -o ] && echo half > "$word"
  last=$word
done
kill -"$SIGNAL" $PPID
sleep 1
