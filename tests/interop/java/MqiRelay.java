// A listener that hands connections through to the service and can cut them all, as a lost network does.

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

final class MqiRelay {
    private final ServerSocket listener;
    private final List<Socket> sockets = new ArrayList<>();

    MqiRelay() throws IOException {
        listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        start(() -> {
            while (true) {
                Socket client = listener.accept();
                Socket server = new Socket("127.0.0.1", Mqi.port);
                synchronized (sockets) {
                    sockets.add(client);
                    sockets.add(server);
                }
                start(() -> copy(client, server));
                start(() -> copy(server, client));
            }
        });
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Ends all connections with a reset, and lets no new one in. */
    void cut() throws IOException {
        listener.close();
        synchronized (sockets) {
            for (Socket socket : sockets) {
                if (socket.isClosed()) continue;
                socket.setSoLinger(true, 0);
                socket.close();
            }
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException ignored) {
                // Cut, or ended by one of the two.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void copy(Socket from, Socket to) throws IOException {
        byte[] buffer = new byte[65_536];
        try (InputStream input = from.getInputStream(); OutputStream output = to.getOutputStream()) {
            for (int length = input.read(buffer); length >= 0; length = input.read(buffer)) output.write(buffer, 0, length);
        }
    }
}
