/* Made by generate.ts; do not edit. */

export interface paths {
    "/plants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPlants"];
        put?: never;
        post: operations["createPlant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["countPlants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTags"];
        put?: never;
        post?: never;
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
        get: operations["listChanges"];
        put?: never;
        post?: never;
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
        get: operations["findPlant"];
        put: operations["changePlant"];
        post?: never;
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
        post: operations["importPlants"];
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
        NewPlant: {
            id: bigint;
            name: string;
            tag?: string;
        };
        PlantList: components["schemas"]["NewPlant"][];
        Plant: {
            name: string;
            tag?: string;
        };
        PlantCount: {
            count: number;
            isExact: boolean;
        };
        TagCount: {
            tag: string;
            count: number;
            isExact: boolean;
        };
        TagList: {
            tags: components["schemas"]["TagCount"][];
            next?: string;
        };
        Deletion: {
            id: bigint;
            deleted: true;
        };
        Change: components["schemas"]["NewPlant"] | components["schemas"]["Deletion"];
        Changes: {
            changes: components["schemas"]["Change"][];
            next: string;
            atEnd: boolean;
            heldBackSeconds?: number;
        };
        ChangedPlant: {
            id?: bigint;
            name: string;
            tag?: string;
        };
        Refusal: {
            line: number;
            id?: bigint;
            error: number;
            message: string;
        };
        Replacement: {
            before: components["schemas"]["NewPlant"];
            after: components["schemas"]["NewPlant"];
        };
        ImportResult: {
            created: number;
            changed: number;
            unchanged: number;
            refused: components["schemas"]["Refusal"][];
            ignored: string[];
            records: number;
            changes?: components["schemas"]["Replacement"][];
        };
        Error: {
            error: number;
            message: string;
        };
    };
    responses: {
        Error: {
            headers: {
                "WWW-Authenticate"?: string;
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
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
                limit?: number;
                after?: bigint;
                order?: "asc" | "desc";
                tag?: string;
                name?: string;
                separator?: "," | ";" | "\t" | "|";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlantList"];
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            406: components["responses"]["Error"];
            408: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
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
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            408: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    countPlants: {
        parameters: {
            query?: {
                tag?: string;
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlantCount"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            406: components["responses"]["Error"];
            408: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    listTags: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TagList"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            406: components["responses"]["Error"];
            408: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            501: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    listChanges: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changes"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            406: components["responses"]["Error"];
            408: components["responses"]["Error"];
            410: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            501: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    findPlant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    ETag?: string;
                    "Cache-Control"?: string;
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewPlant"];
                };
            };
            304: {
                headers: {
                    ETag?: string;
                    "Cache-Control"?: string;
                    Allow?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            404: components["responses"]["Error"];
            406: components["responses"]["Error"];
            408: components["responses"]["Error"];
            410: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    changePlant: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
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
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewPlant"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            404: components["responses"]["Error"];
            408: components["responses"]["Error"];
            410: components["responses"]["Error"];
            412: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    deletePlant: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            404: components["responses"]["Error"];
            408: components["responses"]["Error"];
            412: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    importPlants: {
        parameters: {
            query?: {
                existing?: "keep" | "replace";
                idsFrom?: bigint;
                check?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": Blob;
                "text/csv": Blob;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            400: components["responses"]["Error"];
            401: components["responses"]["Error"];
            403: components["responses"]["Error"];
            408: components["responses"]["Error"];
            417: components["responses"]["Error"];
            431: components["responses"]["Error"];
            500: components["responses"]["Error"];
            503: components["responses"]["Error"];
        };
    };
    newPlant: {
        parameters: {
            query?: never;
            header: {
                "webhook-id": string;
                "webhook-timestamp": string;
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
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
