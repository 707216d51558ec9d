/* Made by generate.ts; do not edit. */

export interface paths {
    "/plants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List plants
         * @description In ascending order of id, or descending with `order=desc`. With a `limit` of up to 1000, the header `Link` has the next page. More are sent as a stream, without it: go on `after` the last id until fewer than `limit` come. Without `limit`, all plants are sent. A response that ends early is broken off: go on `after` the last id that arrived. As application/x-ndjson, each line is one NewPlant; text/csv has a line that names the columns id, name and tag.
         */
        get: operations["listPlants"];
        put?: never;
        /**
         * Create a plant
         * @description The same record sent again gets 200 again and changes nothing. Unknown members are ignored. The client chooses the id: the key of the plant in a database of its own, the next number of a sequence, or a snowflake. Where JavaScript reads ids without care, at most 9007199254740991 (53 bits).
         */
        post: operations["createPlant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a plant
         * @description The whole record, as it was sent to create it.
         */
        get: operations["findPlant"];
        /**
         * Change a plant
         * @description Replaces the name and the tag of a plant that exists; without `tag` it has none then. So a member that ChangedPlant does not name, which may be a misspelt `tag`, is refused. The same again gets 200 again and changes nothing, whatever If-Match says, unless If-None-Match excludes it.
         */
        put: operations["changePlant"];
        post?: never;
        /**
         * Delete a plant
         * @description Its id stays taken, so that a late retry of its creation cannot bring it back. Deleting it again answers 204 again, whatever If-Match and If-None-Match say.
         */
        delete: operations["deletePlant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a list of plants
         * @description Up to 20000 plants in one request, as if each was sent alone, in order. 200 says what became of them, also if all are refused. After 503, part of the list may be stored: sending it again is safe. With `existing=replace`, the token must permit changing plants.
         */
        post: operations["importPlants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the changes
         * @description The newest state of each plant that was created, changed or deleted after a position, from the first one on if none is given. Go on with `next` for ever; `atEnd` says that nothing more is there yet. Nothing is ever left out, but a change may come more than once.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    newPlant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A plant is new or has changed
         * @description Sent at least once with the newest record of each plant, and signed as the Standard Webhooks specification says. Deletions are not sent: `/changes` has them. Of one plant, keep the last `webhook-id`, and ignore the same one and smaller ones with the same first part (docs/webhooks.md).
         */
        post: operations["newPlant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /**
         * NewPlant
         * @description an object with an id, a name and an optional tag
         */
        NewPlant: {
            /**
             * Format: int64
             * @description an integer from -9223372036854775808 to 9223372036854775807. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
             * @example 1
             */
            id: bigint;
            /**
             * @description a string without U+0000 and without lone surrogates
             * @example Monstera deliciosa
             */
            name: string;
            /**
             * @description a string without U+0000 and without lone surrogates, or omitted
             * @example houseplant
             */
            tag?: string;
        };
        /**
         * PlantList
         * @description plants in ascending order of id
         */
        PlantList: components["schemas"]["NewPlant"][];
        /** Error */
        Error: {
            /**
             * Format: int32
             * @description the HTTP status followed by two digits that identify the error
             * @example 40022
             */
            error: number;
            /**
             * @description what is wrong and how to fix it, for people
             * @example name must be a string without U+0000 and without lone surrogates
             */
            message: string;
        };
        /** Plant */
        Plant: {
            /**
             * @description a string without U+0000 and without lone surrogates
             * @example Monstera deliciosa
             */
            name: string;
            /**
             * @description a string without U+0000 and without lone surrogates, or omitted
             * @example houseplant
             */
            tag?: string;
        };
        /**
         * ChangedPlant
         * @description an object with a name and an optional tag
         */
        ChangedPlant: {
            /**
             * Format: int64
             * @description the id in the path, or omitted. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
             * @example 1
             */
            id?: bigint;
            /**
             * @description a string without U+0000 and without lone surrogates
             * @example Monstera deliciosa
             */
            name: string;
            /**
             * @description a string without U+0000 and without lone surrogates, or omitted
             * @example houseplant
             */
            tag?: string;
        };
        /**
         * Refusal
         * @description a record of a list that was refused
         */
        Refusal: {
            /**
             * Format: int32
             * @description the first line of the record in this body, from 1
             * @example 7
             */
            line: number;
            /**
             * Format: int32
             * @description its last line: a quoted cell of CSV may have several
             * @example 7
             */
            lastLine: number;
            /**
             * Format: int64
             * @description its id, if that is known. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
             * @example 1006
             */
            id?: bigint;
            /**
             * Format: int32
             * @description as in Error
             * @example 40009
             */
            error: number;
            /**
             * @description what is wrong and how to fix it, for people
             * @example id 1006 belongs to a different plant
             */
            message: string;
        };
        /**
         * ImportResult
         * @description what became of the records of a list
         */
        ImportResult: {
            /**
             * Format: int32
             * @description how many plants are new
             * @example 2
             */
            created: number;
            /**
             * Format: int32
             * @description how many were replaced
             * @example 0
             */
            changed: number;
            /**
             * Format: int32
             * @description how many were there already
             * @example 1
             */
            unchanged: number;
            /** @description the records that were refused, in their order */
            refused: components["schemas"]["Refusal"][];
            /**
             * @description the first names of columns or members that mean nothing
             * @example [
             *       "colour"
             *     ]
             */
            ignored: string[];
            /**
             * @description what the columns of CSV are, empty if nothing; join them by commas for the parameter `columns`
             * @example [
             *       "id",
             *       "name",
             *       "",
             *       "tag"
             *     ]
             */
            columns?: ("id" | "name" | "tag" | "")[];
            /**
             * @description what separates the cells of CSV
             * @example ;
             */
            separator?: string;
            /**
             * Format: int32
             * @description how many records were read
             * @example 4
             */
            records: number;
            /**
             * Format: int32
             * @description where the last complete record, blank line or line of names ends in this body, in bytes
             * @example 120
             */
            consumed: number;
            /** @description with `check`, the first plants as they would be stored */
            sample?: components["schemas"]["NewPlant"][];
        };
        /**
         * Deletion
         * @description a plant that was deleted
         */
        Deletion: {
            /**
             * Format: int64
             * @description an integer from -9223372036854775808 to 9223372036854775807. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
             * @example 1
             */
            id: bigint;
            /**
             * @description the plant was deleted
             * @example true
             * @constant
             */
            deleted: true;
        };
        /**
         * Change
         * @description the newest state of a plant, or that it was deleted
         */
        Change: components["schemas"]["NewPlant"] | components["schemas"]["Deletion"];
        /**
         * Changes
         * @description a part of the feed of changes
         */
        Changes: {
            /** @description the newest state of each plant that has changed; empty if nothing is new */
            changes: components["schemas"]["Change"][];
            /**
             * @description where the feed goes on: send it as `after`
             * @example M2YwYzlhNGJlNWQxOGEyYjc3YzZkMWUwZjk0ODFhMzU6NzU0OjE6MDotOTIyMzM3MjAzNjg1NDc3NTgwOA
             */
            next: string;
            /**
             * @description whether the feed has nothing beyond this part yet, so that a first walk is complete
             * @example true
             */
            atEnd: boolean;
        };
    };
    responses: {
        /** @description 40100 token missing, 40101 token refused */
        Unauthorized: {
            headers: {
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 40100 | 40101;
                };
            };
        };
        /** @description 40300 insufficient scope */
        Forbidden: {
            headers: {
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 40300;
                };
            };
        };
        /** @description 40600 not acceptable */
        NotAcceptable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 40600;
                };
            };
        };
        /** @description 40800 request too slow */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 40800;
                };
            };
        };
        /** @description 41700 expectation failed */
        ExpectationFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 41700;
                };
            };
        };
        /** @description 43100 headers too large */
        RequestHeaderFieldsTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 43100;
                };
            };
        };
        /** @description 50000 unexpected */
        InternalServerError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 50000;
                };
            };
        };
        /** @description 50300 store unavailable, 50300 overloaded, 50300 too many alike, 50300 token unverifiable */
        ServiceUnavailable: {
            headers: {
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 50300;
                };
            };
        };
        /** @description 40401 plant not found */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 40401;
                };
            };
        };
        /** @description 41000 plant deleted */
        Gone: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 41000;
                };
            };
        };
        /** @description 41200 plant differs */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 41200;
                };
            };
        };
        /** @description 50100 changes unavailable */
        NotImplemented: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] & {
                    /** @enum {unknown} */
                    error?: 50100;
                };
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPlants: {
        parameters: {
            query?: {
                /**
                 * @description the largest number of plants to send; without it, all are sent
                 * @example 100
                 */
                limit?: number;
                /** @description only plants with larger ids than this, or smaller ones with `order=desc`. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md) */
                after?: bigint;
                /** @description whether ids ascend, as they do if it is not given, or descend */
                order?: "asc" | "desc";
                /** @description only plants with exactly this tag, which may be empty */
                tag?: string;
                /** @description only plants whose names contain this text, letters of either case alike: `rosa` is in `Primrosa` and in `Rosa canina`. There is no index, so a page that has been searched for a second ends early, perhaps empty, with a Link */
                name?: string;
                /** @description what separates the cells of CSV; a comma if it is not given */
                separator?: "," | ";" | "\t";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description PlantList response */
            200: {
                headers: {
                    /** @description the next page, with rel="next"; left out on the last one (RFC 8288) */
                    Link?: string;
                    /** @description what the token permits here: methods, separated by commas */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlantList"];
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            /** @description 40001 malformed request, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40001 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createPlant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlant"];
            };
        };
        responses: {
            /** @description Plant response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description 40000 malformed json, 40001 malformed request, 40009 id taken, 40010 id retired, 40013 body too large, 40015 unsupported media type, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40000 | 40001 | 40009 | 40010 | 40013 | 40015 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    findPlant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description the id of the plant. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
                 * @example 1
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description NewPlant response */
            200: {
                headers: {
                    /** @description identifies this version of the record; send it as If-Match to change or delete no other, or as If-None-Match to get 304 while it is the same */
                    ETag?: string;
                    /** @description private, no-cache */
                    "Cache-Control"?: string;
                    /** @description what the token permits here: methods, separated by commas */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewPlant"];
                };
            };
            /** @description the record is still the one of If-None-Match */
            304: {
                headers: {
                    /** @description identifies this version of the record; send it as If-Match to change or delete no other, or as If-None-Match to get 304 while it is the same */
                    ETag?: string;
                    /** @description private, no-cache */
                    "Cache-Control"?: string;
                    /** @description what the token permits here: methods, separated by commas */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description 40001 malformed request, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40001 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["Gone"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description the ETag, with its quotes, that the plant must still have, or several, or * */
                "If-Match"?: string;
                /** @description the ETag, with its quotes, that the plant must not have, or several, or * for any */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description the id of the plant. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
                 * @example 1
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangedPlant"];
            };
        };
        responses: {
            /** @description NewPlant response */
            200: {
                headers: {
                    /** @description identifies this version of the record; send it as If-Match to change or delete no other */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewPlant"];
                };
            };
            /** @description 40000 malformed json, 40001 malformed request, 40013 body too large, 40015 unsupported media type, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40000 | 40001 | 40013 | 40015 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description the ETag, with its quotes, that the plant must still have, or several, or * */
                "If-Match"?: string;
                /** @description the ETag, with its quotes, that the plant must not have, or several, or * for any */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description the id of the plant. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md)
                 * @example 1
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description 40001 malformed request, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40001 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["PreconditionFailed"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importPlants: {
        parameters: {
            query?: {
                /** @description what becomes of a plant that exists and differs: it is kept, and the record refused, or replaced */
                existing?: "keep" | "replace";
                /** @description for a list without ids: the id of its first record; the others follow it. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. Use a string or a bigint there (examples/README.md) */
                idsFrom?: bigint;
                /** @description whether the list began before this body, as for each part after the first: then its first bytes mean what they mean elsewhere in a list, where no byte order mark is left out and no encoding recognized */
                continued?: boolean;
                /** @description whether the list goes on after this body; what is not complete is not read: send it with the next part */
                more?: boolean;
                /** @description what the columns of CSV are, in place of a line that names them; empty for a column to ignore */
                columns?: string;
                /** @description what separates the cells of CSV; without it, the line that names the columns shows it */
                separator?: "," | ";" | "\t";
                /** @description whether to store nothing, and only say what is refused by its form */
                check?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            /** @description ImportResult response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            /** @description 40000 malformed json, 40001 malformed request, 40013 body too large, 40015 unsupported media type, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40000 | 40001 | 40013 | 40015 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /** @description the `next` of the last response, or `now` to begin at the end; without it, the feed begins with the first plant */
                after?: string;
                /**
                 * @description the largest number of changes to send; 100 if it is not given
                 * @example 100
                 */
                limit?: number;
                /** @description how many seconds to wait for a change if nothing is new */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Changes response */
            200: {
                headers: {
                    /** @description what the token permits here: methods, separated by commas */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changes"];
                };
            };
            /** @description 40001 malformed request, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 40001 | 40022;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description 41001 cursor expired */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /** @enum {unknown} */
                        error?: 41001;
                    };
                };
            };
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    newPlant: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The same whenever the same state of a plant is sent again; `msg_`, an epoch, a number of 19 digits that grows with each change of the plant within the epoch, its id, and a digest of the body, joined by `_`
                 * @example msg_3f0c9a4be5d18a2b77c6d1e0f9481a35_0000000000000000754_1_9b74c9897bac770f
                 */
                "webhook-id": string;
                /**
                 * @description When it was sent: seconds since 1970
                 * @example 1793404800
                 */
                "webhook-timestamp": string;
                /**
                 * @description One signature or several, separated by spaces, each `v1,` and the base64 of an HMAC-SHA256
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlant"];
            };
        };
        responses: {
            /** @description the endpoint wants no more: nothing is sent until its operator resumes it */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description received: it is not sent again */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description sent again later, after `Retry-After` at the earliest */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
