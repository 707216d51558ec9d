// What Go's documentation and that of pgx recommend: net/http, encoding/json, a JSON log line for each request, and
// pgx's pool with a prepared statement per request. Like fastify-pg.ts it refuses the same plant sent again; unlike that,
// it keeps every int64 exactly.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v4/pgxpool"
)

// With pointers, since a member that is missing is refused and an empty one is not.
type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

type failure struct {
	Error   int    `json:"error"`
	Message string `json:"message"`
}

type logLine struct {
	Time       int64   `json:"time"`
	Method     string  `json:"method"`
	Path       string  `json:"path"`
	Status     int     `json:"status"`
	DurationMs float64 `json:"durationMs"`
}

const maxBody = 1 << 20

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.ConnectConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	authorization := "Bearer " + os.Getenv("ACCESS_TOKENS")

	create := func(request *http.Request, writer http.ResponseWriter) (int, interface{}) {
		if request.Method != http.MethodPost {
			return 405, failure{40500, "method not allowed"}
		}
		if request.Header.Get("Authorization") != authorization {
			return 401, failure{40100, "unauthorized"}
		}
		var body newPlant
		if err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, maxBody)).Decode(&body); err != nil {
			return 400, failure{40000, err.Error()}
		}
		if body.ID == nil || body.Name == nil {
			return 400, failure{40022, "id and name are required"}
		}
		inserted, err := pool.Exec(request.Context(),
			"INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", body.ID, body.Name, body.Tag)
		if err != nil {
			return 500, failure{50000, "internal error"}
		}
		if inserted.RowsAffected() == 0 {
			return 400, failure{40009, "id is taken"}
		}
		return 200, plant{*body.Name, body.Tag}
	}

	lines := log.New(os.Stdout, "", 0)
	http.HandleFunc("/plants", func(writer http.ResponseWriter, request *http.Request) {
		start := time.Now()
		status, response := create(request, writer)
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(status)
		json.NewEncoder(writer).Encode(response)
		milliseconds := float64(time.Since(start).Microseconds()) / 1000
		line, _ := json.Marshal(logLine{start.UnixMilli(), request.Method, request.URL.Path, status, milliseconds})
		lines.Println(string(line))
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	os.Stderr.WriteString("listens at http://" + listener.Addr().String() + "\n")
	log.Fatal(http.Serve(listener, nil))
}
