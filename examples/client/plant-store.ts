/* Made by generate.ts; do not edit. */

export interface paths {
    "/plants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a plant
         * @description Sending the same record again returns 200 again and changes nothing.
         */
        post: operations["createPlant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * NewPlant
         * @description an object with an id, a name and an optional tag
         */
        NewPlant: {
            /**
             * Format: int64
             * @description an integer from -9223372036854775808 to 9223372036854775807
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
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
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
            /** @description 40000 malformed json, 40001 malformed request, 40009 id taken, 40013 body too large, 40015 unsupported media type, 40022 invalid plant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 40000
                         * @enum {integer}
                         */
                        error: 40000 | 40001 | 40009 | 40013 | 40015 | 40022;
                    };
                };
            };
            /** @description 40100 token missing, 40101 token refused */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 40100
                         * @enum {integer}
                         */
                        error: 40100 | 40101;
                    };
                };
            };
            /** @description 40800 request too slow */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 40800
                         * @enum {integer}
                         */
                        error: 40800;
                    };
                };
            };
            /** @description 41700 expectation failed */
            417: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 41700
                         * @enum {integer}
                         */
                        error: 41700;
                    };
                };
            };
            /** @description 43100 headers too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 43100
                         * @enum {integer}
                         */
                        error: 43100;
                    };
                };
            };
            /** @description 50000 unexpected */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 50000
                         * @enum {integer}
                         */
                        error: 50000;
                    };
                };
            };
            /** @description 50300 store unavailable */
            503: {
                headers: {
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] & {
                        /**
                         * @example 50300
                         * @enum {integer}
                         */
                        error: 50300;
                    };
                };
            };
        };
    };
}
