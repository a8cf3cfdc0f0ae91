public class Play {
  int value = 1;

  static native void writeNull();

  static int read(Play play) { return play.value; }

  static int depth(int d) { return depth(d + 1) + 1; }

  static int nulls(int count) {
    int caught = 0;
    for (int i = 0; i < count; i++) {
      try { read(i % 2 == 0 ? null : new Play()); } catch (NullPointerException e) { caught++; }
    }
    return caught;
  }

  static void take(String scene) throws Exception {
    switch (scene) {
      case "plays":
        // Makes the virtual machine compile the method: the interpreter checks for null, while
        // compiled code faults.
        Play play = new Play();
        for (int i = 0; i < 200000; i++) read(play);
        Thread.sleep(200);
        System.out.println(nulls(2000) + " null pointers");
        int deep = 0;
        for (int i = 0; i < 3; i++) {
          try { depth(0); } catch (StackOverflowError e) { deep++; }
        }
        System.out.println(deep + " stack overflows");
        for (int i = 0; i < 3; i++) System.gc();
        break;
      case "native": writeNull(); break;
      case "java":
        java.lang.reflect.Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        ((sun.misc.Unsafe) field.get(null)).putInt(16L, 1);
        break;
      default: throw new Exception(scene);
    }
  }

  static void play(String scene) throws Exception {
    String[] words = scene.split("-on-");
    if (words.length == 1) { take(scene); return; }
    Thread thread = new Thread(() -> {
      try { take(words[0]); } catch (Exception e) { e.printStackTrace(); System.exit(3); }
    });
    thread.start();
    thread.join();
  }
}
